"""Does the recorder say what the program said, get it there, and leave the program alone?"""
