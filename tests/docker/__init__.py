"""Tests of the images, as far as files can be checked without a Docker engine."""
