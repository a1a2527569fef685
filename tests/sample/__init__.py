"""Is the sample what it says, and does the tour through it print what it shows?"""
