"""One thin module per DVC stage: parse parameters, call the library, write the outputs."""
