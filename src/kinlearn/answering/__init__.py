"""From rows to answers: the one path that the service, its watch and its clients' formats share."""
