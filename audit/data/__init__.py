"""The data sets an audit can be run on: where they are found, how they are read, what is refused."""
