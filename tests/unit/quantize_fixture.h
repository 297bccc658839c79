// Quantises small model files, and looks at what is refused and what is left behind.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "convert/quantize.h"
#include "fixtures/failure.h"
#include "fixtures/temporary_directory.h"
#include "gguf/gguf.h"

namespace skipstone::convert {

inline std::vector<float> weights_of(const gguf::Tensor& tensor) {
  std::vector<float> weights(static_cast<std::size_t>(tensor.elements()));
  gguf::dequantize(tensor, weights);
  return weights;
}

class QuantizeFile : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.file(name); }

  static QuantizeOptions options(const std::string& input, const std::string& output, gguf::Type type) {
    QuantizeOptions made;
    made.input = input;
    made.output = output;
    made.type = file_type_of(type);
    return made;
  }
  /// The output of a fresh name.
  std::string quantized(const std::string& input, gguf::Type type) const {
    static int count = 0;
    const std::string output = file(fmt::format("out-{}.gguf", count++));
    quantize(options(input, output, type));
    return output;
  }
  /// What is thrown; the folder must have the same files as before.
  fixtures::Failure refused(const QuantizeOptions& given) const {
    const std::size_t before = files();
    const fixtures::Failure failure = fixtures::failure_of([&] { quantize(given); });
    EXPECT_EQ(files(), before) << "something was left behind: " << failure.message;
    return failure;
  }
  fixtures::Failure refused(const std::string& input, const std::string& output, gguf::Type type = gguf::Type::q8_0) const {
    return refused(options(input, output, type));
  }
  std::size_t files() const {
    const auto all = std::filesystem::directory_iterator(folder_.path());
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  fixtures::TemporaryDirectory folder_;
};

}  // namespace skipstone::convert
