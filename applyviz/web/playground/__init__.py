"""The playground: the versions of one object in, the explanation out."""
