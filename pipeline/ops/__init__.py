"""What runs, sends, ships or places: nothing but the command line and the flows imports it."""
