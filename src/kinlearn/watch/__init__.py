"""How a model in use is doing: what arrives, what is answered, what accuracy to expect."""
