// Named pipes and endless devices in the place of files: refused at once, or done without.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "e2e/cli_hostile.h"
#include "fixtures/tiny_checkpoint.h"

namespace skipstone::e2e {
namespace {

namespace fs = std::filesystem;

TEST_F(CliHostile, PipesAndDevicesInPlaceOfFiles) {
  ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo(file("pipe.json").c_str(), 0600), 0);
  for (const std::string& path : {file("pipe"), std::string("/dev/zero"), folder_.path().string()}) {
    expect_refused({"run", "-m", path, "-p", "x"}, 3);
    expect_refused({"inspect", path}, 3);
    expect_refused({"quantize", path, file("out.gguf"), "q8_0"}, 3);
  }
  expect_refused({"run", "-m", model(), "-p", "x", "--draft", "skip:" + file("pipe.json")}, 2, "not a regular file");
  fixtures::write_checkpoint(fixtures::tiny_checkpoint(), file("hf"));
  for (const char* name : {"config.json", "tokenizer_config.json", "tokenizer.model", "model.safetensors"}) {
    fs::remove_all(file("bad"));
    fs::copy(file("hf"), file("bad"));
    fs::remove(file("bad") + "/" + name);
    ASSERT_EQ(mkfifo((file("bad") + "/" + name).c_str(), 0600), 0);
    expect_refused({"convert", file("bad"), file("out.gguf")}, 3, "not a regular file");
  }
}

TEST_F(CliHostile, PipesInPlaceOfCacheFiles) {
  const std::vector<std::string> arguments = {"run", "-m", model(), "-p", "Hello", "-n", "12", "--draft", "auto"};
  const Result good = run_here(arguments);
  ASSERT_EQ(good.code, 0) << good.error;
  const std::vector<fs::path> cached = this->cached();
  for (const fs::path& path : cached) {
    fs::remove(path);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  }
  const Result piped = run_here(arguments);
  EXPECT_EQ(piped.code, 0) << "signal " << piped.signal << piped.error;
  EXPECT_EQ(piped.out, good.out);
}

}  // namespace
}  // namespace skipstone::e2e
