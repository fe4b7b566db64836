"""The double of Google's generateContent."""
