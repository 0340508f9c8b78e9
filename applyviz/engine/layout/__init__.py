"""Lay out boxes and lines of a picture in layers, deterministically, without knowing what they represent."""
