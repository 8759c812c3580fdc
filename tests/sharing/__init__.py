"""The artifact store and its remote, through real servers on loopback."""
