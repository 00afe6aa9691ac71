"""The code of the helper process, which alone imports torch, transformers and peft."""
