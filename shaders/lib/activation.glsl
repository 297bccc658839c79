// Nonlinear functions, the same on every path: SiLU, GELU in its tanh form (arXiv 1606.08415), softcap (arXiv 2408.00118).

// By one exponential. Near 0 the absolute error stays 1e-7; callers add the result to numbers near 1 or multiply it by a cap.
float tanh_by_exp(float x) {
  precise float shrunk = exp(-2.0 * abs(x));
  precise float size = (1.0 - shrunk) / (1.0 + shrunk);
  return x < 0.0 ? -size : size;
}

float silu(float x) {
  precise float result = x / (1.0 + exp(-x));
  return result;
}

float gelu(float x) {
  precise float inner = 0.79788456 * (x + 0.044715 * (x * x * x));   // sqrt(2 / pi)
  precise float result = 0.5 * x * (1.0 + tanh_by_exp(inner));
  return result;
}

float softcap(float x, float cap) {
  precise float result = cap * tanh_by_exp(x / cap);
  return result;
}
