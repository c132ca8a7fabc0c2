// MathJax could not be fetched when this site was built; formulas stay TeX source.
