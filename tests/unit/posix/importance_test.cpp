// Importance matrices with names of files that are not UTF-8, as the strings of GGUF files are.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "unit/importance_fixture.h"

namespace skipstone::convert {
namespace {

TEST_F(Importance, NamesOfFilesAreWrittenAsText) {
  std::filesystem::copy_file(file("text.txt"), file("odd\xff.txt"));
  ImportanceOptions measured = measurement("odd\xfe.gguf");
  measured.text = file("odd\xff.txt");
  measured.chunks = 1;
  measure_importance_matrix(measured);
  EXPECT_EQ(*gguf::File::open(measured.output).strings("imatrix.datasets"), std::vector<std::string>{file("odd\\xff.txt")});
  QuantizeOptions given = options(file("model.gguf"), file("out.gguf"), gguf::Type::q4_0);
  given.imatrix = measured.output;
  quantize(given);
  const gguf::File made = gguf::File::open(given.output);
  EXPECT_EQ(made.string("quantize.imatrix.file", ""), file("odd\\xfe.gguf"));
  EXPECT_EQ(made.string("quantize.imatrix.dataset", ""), file("odd\\xff.txt"));
}

}  // namespace
}  // namespace skipstone::convert
