"""Tests of the recorder: what programs record is stored, and failures do not end them."""
