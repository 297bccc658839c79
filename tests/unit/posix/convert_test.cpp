// Converting over a symbolic link to the checkpoint itself.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "unit/convert_fixture.h"

namespace skipstone::convert {
namespace {

TEST_F(ConvertTest, ALinkToTheCheckpointIsNoOutput) {
  write(fixtures::tiny_checkpoint());
  const std::string weights = directory_.file("checkpoint/model.safetensors"), before = fixtures::bytes_of(weights);
  std::filesystem::create_symlink(weights, directory_.file("link.gguf"));
  ConvertOptions wanted = options();
  wanted.output = directory_.file("link.gguf");
  const auto failure = fixtures::failure_of([&] { convert(wanted); });
  EXPECT_EQ(failure.code, Code::invalid_argument) << failure.message;
  EXPECT_NE(failure.message.find("is the input"), std::string::npos) << failure.message;
  EXPECT_EQ(fixtures::bytes_of(weights), before);
}

}  // namespace
}  // namespace skipstone::convert
