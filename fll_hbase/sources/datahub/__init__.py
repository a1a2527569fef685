"""What do DataHub's clients say: metadata proposals to runs and schemas, and urns to end points and back."""
