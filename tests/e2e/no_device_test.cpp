// The program without a driver, or without Vulkan's loader: ctest says which is missing, in this test's own environment.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "program.h"

namespace skipstone::e2e {
namespace {

TEST(NoDevice, IsOneSentenceAndItsExitCode) {
  const fixtures::TemporaryDirectory folder;
  const std::string model = folder.file("tiny.gguf");
  fixtures::write_tiny_model({}, model);
  std::ofstream(folder.file("prompts.jsonl")) << "\"Hello\"\n";
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"run", "-m", model, "-p", "Hello", "-n", "4"},
                                                    {"devices"},
                                                    {"doctor"},
                                                    {"inspect", "--cosine", model, "--prompts", folder.file("prompts.jsonl")}}) {
    const Result result = run(arguments);
    EXPECT_EQ(result.code, 4) << arguments[0] << " signal " << result.signal << "\n" << result.error;
    EXPECT_EQ(result.out, "") << arguments[0];
    EXPECT_TRUE(result.error.starts_with("error: ")) << result.error;
    EXPECT_EQ(std::ranges::count(result.error, '\n'), 1) << result.error;
    EXPECT_TRUE(contains(result.error, "Vulkan")) << result.error;
  }
  const Result inspected = run({"inspect", model});
  EXPECT_EQ(inspected.code, 0) << "what needs no device works: " << inspected.error;
}

}  // namespace
}  // namespace skipstone::e2e
