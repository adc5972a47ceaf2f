"""What weft.nn.functional consists of, by subject; programs import weft.nn.functional."""
