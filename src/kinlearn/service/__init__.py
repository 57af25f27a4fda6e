"""``kinlearn serve``: models that answer over HTTP, by three protocols (extra ``serve``)."""
