"""Training steps, watched for mistakes that raise no error."""
