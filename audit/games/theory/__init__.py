"""The theory of Dong, Zhao and Lyu (arXiv:2206.00240, section 4, Appendices A–D), run on the condenser itself."""
