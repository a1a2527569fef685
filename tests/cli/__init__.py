"""Does the command line say what the API says, to be read by people, and what went wrong in one line?"""
