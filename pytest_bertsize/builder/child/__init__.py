"""What runs in the helper process, and the only code that imports torch, transformers and peft."""
