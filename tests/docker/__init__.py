"""Do the images hold together, as far as that can be told without an engine to build them?"""
