"""One file per family: what its classes consist of, and which keys of its config say so."""
