"""Text of a given width, with and without colour. rich lives here, and in what ``explain`` draws."""
