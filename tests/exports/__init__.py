"""Do exported runs come back as they were?"""
