"""Does the store behave as the ancestor's own tests expect, where the design has not decided otherwise?"""
