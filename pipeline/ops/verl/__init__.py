"""The verl backend: a cell trained by verl through a Ray job."""
