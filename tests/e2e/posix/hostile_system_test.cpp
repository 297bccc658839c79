// What POSIX systems alone have against a program: named pipes and endless devices in the place of files, arguments that are no text, a
// limit on the size of files.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>

#include "e2e/cli_hostile.h"
#include "e2e/program.h"
#include "fixtures/temporary_directory.h"
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

TEST_F(CliHostile, ArgumentsThatAreNoText) {
  expect_refused({"run", "-m", model(), "-p", "caf\xC3( is not UTF-8"}, 2, "UTF-8");
  expect_refused({"run", "-m", model(), "-p", "x", "--device", hostile_text().substr(0, 100000)}, 4);
}

TEST(FullDisk, NothingIsLeftBehind) {
  const fixtures::TemporaryDirectory folder;
  fixtures::write_checkpoint(fixtures::tiny_checkpoint({.layers = 3}), folder.file("tiny-hf"));
  // A limit on the size of files, which children inherit, stands in for the disk; ignored, its signal becomes an error of write().
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit little{20000, before.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &little);
  const Result result = run({"convert", folder.file("tiny-hf"), folder.file("tiny.gguf")});
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_DFL);
  EXPECT_EQ(result.code, 1) << result.error;
  EXPECT_TRUE(contains(result.error, "tiny.gguf: cannot write: File too large; no partial file is left")) << result.error;
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace skipstone::e2e
