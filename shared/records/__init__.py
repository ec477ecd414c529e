"""What is stored and what decisions are made of: frozen pydantic models, one module per document or noun."""
