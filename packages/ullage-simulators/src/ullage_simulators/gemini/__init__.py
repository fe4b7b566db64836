"""The simulator of Google's generateContent."""
