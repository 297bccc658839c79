// Which files of a folder are models of a server, and what they are called.
#include "serve/model_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fixtures/temporary_directory.h"
#include "terminal/exit_code.h"

namespace cli::serve {
namespace {

class ModelFiles : public testing::Test {
 protected:
  std::string write(const std::string& name) {
    const std::filesystem::path path = folder.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << name;
    return folder.file(name);
  }
  static std::vector<std::string> names(const std::vector<ModelFile>& models) {
    std::vector<std::string> all;
    for (const ModelFile& model : models) all.push_back(model.name);
    return all;
  }
  std::string root() const { return folder.file(""); }

  skipstone::fixtures::TemporaryDirectory folder;
};

using Names = std::vector<std::string>;

TEST_F(ModelFiles, AreGgufFilesInAFolderAndItsFolders) {
  write("b.gguf");
  write("a.gguf");
  write("org/a.gguf");
  write("notes.txt");
  write(".hidden.gguf");
  write(".cache/c.gguf");
  write("split-00001-of-00002.gguf");
  write("split-00002-of-00002.gguf");
  write("1234-of-5678.gguf");
  const auto models = find_models({}, root());
  EXPECT_EQ(names(models), (Names{"1234-of-5678", "a", "b", "org/a", "split"}));
  EXPECT_EQ(models[3].known_as, (Names{"org/a", "org/a.gguf"}));
  EXPECT_NE(models[4].path.find("split-00001-of-00002.gguf"), std::string::npos);
}

TEST_F(ModelFiles, HaveTheirHeadsBesideThem) {
  write("a.gguf");
  write("b.gguf");
  const std::string head = write("mtp-b.gguf");
  write("mtp-c.gguf");
  const auto models = find_models({}, root());
  EXPECT_EQ(names(models), (Names{"a", "b"}));
  EXPECT_EQ(models[0].mtp_file, "");
  EXPECT_EQ(std::filesystem::path(models[1].mtp_file), std::filesystem::path(head));
}

TEST_F(ModelFiles, GivenOnesComeFirstAndOnce) {
  const std::string b = write("b.gguf");
  write("a.gguf");
  const std::string other = write(".other/c.gguf");
  EXPECT_EQ(names(find_models({b, other}, root())), (Names{"b", "c", "a"}));
  EXPECT_EQ(names(find_models({other, b}, "")), (Names{"c", "b"}));
}

TEST_F(ModelFiles, AreRefusedWhereNoneIsThereOrTwoHaveOneName) {
  EXPECT_THROW(find_models({}, root()), Failure);
  EXPECT_THROW(find_models({}, folder.file("none")), Failure);
  const std::string a = write("a.gguf"), other = write("x/a.gguf");
  EXPECT_THROW(find_models({a, other}, ""), Failure);
  EXPECT_THROW(find_models({a, a}, ""), Failure);
  EXPECT_NO_THROW(find_models({a}, root()));
}

}  // namespace
}  // namespace cli::serve
