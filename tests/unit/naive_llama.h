// A second, independent way to the logits of a Llama, and to its sublayers' cosines: the whole text at once, no cache, dense loops over a
// binary64 copy of the weights. Slow and without a plan; the oracle must agree with it.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gguf/gguf.h"

namespace skipstone::tests {

class NaiveLlama {
 public:
  using Vector = std::vector<double>;

  explicit NaiveLlama(const gguf::File& file) : file_(file) {
    heads_ = file.integer("llama.attention.head_count", 0);
    kv_heads_ = file.integer("llama.attention.head_count_kv", 0);
    dim_ = file.integer("llama.attention.key_length", 0);
    rope_dim_ = file.integer("llama.rope.dimension_count", 0);
    base_ = file.number("llama.rope.freq_base", 0);
    scale_ = file.number("llama.rope.scaling.factor", 1);
    epsilon_ = file.number("llama.attention.layer_norm_rms_epsilon", 0);
    layers_ = file.integer("llama.block_count", 0);
  }

  struct Result {
    std::vector<Vector> logits;                        ///< [position][vocabulary]
    std::vector<Vector> attention_cosine, mlp_cosine;  ///< [layer][position]: the residual stream before and after
  };

  Result run(const std::vector<std::int32_t>& tokens) const {
    Result result;
    std::vector<Vector>& x = result.logits;
    const Vector embedding = read("token_embd.weight");
    const std::size_t width = file_.find_tensor("token_embd.weight")->shape[0];
    for (const std::int32_t t : tokens) {
      const auto first = embedding.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(t) * width);
      x.emplace_back(first, first + static_cast<std::ptrdiff_t>(width));
    }
    for (std::uint64_t layer = 0; layer < layers_; ++layer) run_layer("blk." + std::to_string(layer) + ".", x, result);
    const std::string output = file_.find_tensor("output.weight") != nullptr ? "output" : "token_embd";
    for (Vector& row : x) {
      row = linear(output, norm("output_norm.weight", row));
      if (output == "token_embd") plus(row, read("output.bias"));
    }
    return result;
  }

 private:
  Vector read(const std::string& name) const {
    const gguf::Tensor* tensor = file_.find_tensor(name);
    if (tensor == nullptr) return {};
    std::vector<float> floats(tensor->elements());
    gguf::dequantize(*tensor, floats);
    return {floats.begin(), floats.end()};
  }
  static void plus(Vector& x, const Vector& y) {
    for (std::size_t i = 0; i < y.size(); ++i) x[i] += y[i];
  }
  Vector linear(const std::string& name, const Vector& x) const {
    const Vector w = read(name + ".weight");
    Vector y(w.size() / x.size());
    for (std::size_t n = 0; n < y.size(); ++n) {
      for (std::size_t k = 0; k < x.size(); ++k) y[n] += w[n * x.size() + k] * x[k];
    }
    plus(y, read(name + ".bias"));
    return y;
  }
  Vector norm(const std::string& name, const Vector& x) const {
    double squares = 0;
    for (const double v : x) squares += v * v;
    Vector y = read(name);
    for (std::size_t i = 0; i < x.size(); ++i) y[i] *= x[i] / std::sqrt(squares / static_cast<double>(x.size()) + epsilon_);
    return y;
  }
  void rotate(Vector& x, std::size_t position) const {
    const Vector factors = read("rope_freqs.weight");
    for (std::size_t start = 0; start < x.size(); start += dim_) {
      for (std::size_t i = 0; i < rope_dim_; i += 2) {
        const double frequency = 1.0 / std::pow(base_, static_cast<double>(i) / static_cast<double>(rope_dim_));
        const double angle = static_cast<double>(position) * frequency / scale_ / (factors.empty() ? 1.0 : factors[i / 2]);
        const double a = x[start + i], b = x[start + i + 1];
        x[start + i] = std::cos(angle) * a - std::sin(angle) * b;
        x[start + i + 1] = std::cos(angle) * b + std::sin(angle) * a;
      }
    }
  }
  static double dot(const Vector& x, const Vector& y) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
    return sum;
  }
  static double plus_and_cosine(Vector& x, const Vector& y) {
    const Vector before = x;
    plus(x, y);
    return dot(before, x) / std::sqrt(dot(before, before) * dot(x, x));
  }
  void run_layer(const std::string& block, std::vector<Vector>& x, Result& result) const {
    Vector& attention_cosine = result.attention_cosine.emplace_back();
    Vector& mlp_cosine = result.mlp_cosine.emplace_back();
    std::vector<Vector> q, k, v;
    for (std::size_t p = 0; p < x.size(); ++p) {
      const Vector in = norm(block + "attn_norm.weight", x[p]);
      q.push_back(linear(block + "attn_q", in));
      k.push_back(linear(block + "attn_k", in));
      v.push_back(linear(block + "attn_v", in));
      rotate(q[p], p);
      rotate(k[p], p);
    }
    for (std::size_t p = 0; p < x.size(); ++p) {
      Vector mixed(q[p].size());
      for (std::size_t h = 0; h < heads_; ++h) mix_head(h, p, q, k, v, mixed);
      attention_cosine.push_back(plus_and_cosine(x[p], linear(block + "attn_output", mixed)));
      const Vector in = norm(block + "ffn_norm.weight", x[p]);
      Vector gate = linear(block + "ffn_gate", in);
      const Vector up = linear(block + "ffn_up", in);
      for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] * up[i] / (1.0 + std::exp(-gate[i]));
      mlp_cosine.push_back(plus_and_cosine(x[p], linear(block + "ffn_down", gate)));
    }
  }
  void mix_head(std::size_t h, std::size_t p, const std::vector<Vector>& q, const std::vector<Vector>& k, const std::vector<Vector>& v,
                Vector& mixed) const {
    const std::size_t from = h * dim_, kv = h * kv_heads_ / heads_ * dim_;
    double total = 0;
    for (std::size_t s = 0; s <= p; ++s) {
      double score = 0;
      for (std::size_t d = 0; d < dim_; ++d) score += q[p][from + d] * k[s][kv + d];
      const double weight = std::exp(score / std::sqrt(static_cast<double>(dim_)));
      total += weight;
      for (std::size_t d = 0; d < dim_; ++d) mixed[from + d] += weight * v[s][kv + d];
    }
    for (std::size_t d = 0; d < dim_; ++d) mixed[from + d] /= total;
  }

  const gguf::File& file_;
  std::size_t heads_, kv_heads_, dim_, rope_dim_;
  std::uint64_t layers_;
  double base_, scale_, epsilon_;
};

}  // namespace skipstone::tests
