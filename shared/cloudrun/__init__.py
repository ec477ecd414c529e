"""What Cloud Run is: prices, limits and the texts it answers with. Pure; knows nothing of how Trimtab stores or decides."""
