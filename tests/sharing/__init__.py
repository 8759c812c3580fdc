"""What checkouts share through DVC's remote, through real servers on loopback."""
