"""Shapes of requests and answers, for the OpenAPI document."""
