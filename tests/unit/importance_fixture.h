// A small model, a text to measure its importance matrix over, and a matrix of inputs that matter very differently.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "convert/importance_matrix.h"
#include "fixtures/tiny_model.h"
#include "quantize_fixture.h"

namespace skipstone::convert {

class Importance : public QuantizeFile {
 protected:
  void SetUp() override {
    fixtures::write_tiny_model({.layers = 2}, file("model.gguf"));
    std::string text;
    for (int i = 0; i < 20; ++i) text += fmt::format("the quick brown fox jumps over {} lazy dogs. ", i);
    std::ofstream(file("text.txt")) << text;
  }
  ImportanceOptions measurement(const std::string& output) const {
    ImportanceOptions made;
    made.model = file("model.gguf");
    made.text = file("text.txt");
    made.output = file(output);
    made.chunk_tokens = 64;
    return made;
  }
  /// A matrix whose inputs matter very differently, for every matrix of the layers of a model.
  static ImportanceMatrix uneven(const gguf::File& model, float count = 4.0f) {
    ImportanceMatrix matrix;
    matrix.datasets = {"a text", "another"};
    matrix.chunks = 7;
    matrix.chunk_tokens = 512;
    for (const gguf::Tensor& tensor : model.tensors()) {
      if (tensor.dimensions < 2 || !tensor.name.starts_with("blk.")) continue;
      ImportanceMatrix::Entry entry{std::vector<float>(tensor.row_length()), {count}};
      for (std::size_t i = 0; i < entry.sums.size(); ++i) entry.sums[i] = i % 8 == 3 ? 400.0f : 0.04f;
      matrix.entries[tensor.name] = std::move(entry);
    }
    return matrix;
  }
};

}  // namespace skipstone::convert
