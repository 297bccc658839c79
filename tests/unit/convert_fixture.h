// Writes a tiny checkpoint, converts it, and looks at what came out or why it was refused.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "convert/convert.h"
#include "fixtures/failure.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_checkpoint.h"
#include "fixtures/warnings.h"
#include "gguf/gguf.h"
#include "model/config.h"

namespace skipstone::convert {

/// The checkpoint of a file of lfm2, qwen35, granitehybrid or nemotron_h (hybrid_checkpoint.cpp).
std::vector<fixtures::CheckpointTensor> hybrid_checkpoint(const gguf::File& file);

class ConvertTest : public testing::Test {
 protected:
  std::string folder() const { return directory_.file("checkpoint"); }
  std::string output() const { return directory_.file("out.gguf"); }

  void write(const fixtures::TinyCheckpoint& checkpoint, std::size_t shards = 1) const {
    std::filesystem::remove_all(folder());
    fixtures::write_checkpoint(checkpoint, folder(), shards);
  }
  ConvertOptions options(gguf::Type type = gguf::Type::f32) const {
    ConvertOptions options;
    options.folder = folder();
    options.output = output();
    options.type = file_type_of(type);
    options.overwrite = true;
    return options;
  }
  /// Converts what was written last, and checks that the result is a model that runs here.
  gguf::File converted(gguf::Type type = gguf::Type::f32) const {
    convert(options(type));
    gguf::File file = gguf::File::open(copy_of(output()));
    model::find_tensors(file, model::Config::from(file));
    return file;
  }
  std::string converted_bytes(const fixtures::TinyCheckpoint& checkpoint, gguf::Type type, std::size_t shards = 1) const {
    write(checkpoint, shards);
    convert(options(type));
    return fixtures::bytes_of(output());
  }
  void expect_refused(const fixtures::TinyCheckpoint& checkpoint, Code code, const std::string& part,
                      gguf::Type type = gguf::Type::f32) const {
    write(checkpoint);
    std::filesystem::remove(output());
    const auto failure = fixtures::failure_of([&] { convert(options(type)); });
    EXPECT_EQ(failure.code, code) << part << ": " << failure.message;
    EXPECT_NE(failure.message.find(part), std::string::npos) << "wanted: " << part << "\ngot: " << failure.message;
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.path()), std::filesystem::directory_iterator()), 1)
        << "left something behind: " << part;
  }

  /// To be opened: Windows replaces no file that is open, and the next conversion has the same output.
  std::string copy_of(const std::string& path) const {
    const std::string other = results_.file(std::to_string(std::distance(std::filesystem::directory_iterator(results_.path()), {})));
    std::filesystem::copy_file(path, other);
    return other;
  }

  fixtures::TemporaryDirectory directory_, results_;
};

using fixtures::Warnings;

}  // namespace skipstone::convert
