#include "fuzz/readers.h"

#include <filesystem>
#include <stdexcept>

#include "base/escape.h"
#include "base/status.h"
#include "fixtures/tiny_checkpoint.h"

namespace skipstone::fuzz {

std::vector<Reader> all_readers() {
  std::vector<Reader> all(model_readers().begin(), model_readers().end());
  all.insert(all.end(), state_readers().begin(), state_readers().end());
  return all;
}

bool read(const Reader& reader, const std::string& folder, const std::string& bytes) {
  const std::string path = folder + "/" + reader.file;
  std::filesystem::remove(path);  // some file systems flush to the disk where a file is truncated and written again
  fixtures::write_text(path, bytes);
  try {
    reader.read(folder);
    return true;
  } catch (const Error& error) {
    const std::string sentence = error.what();
    if (sentence.empty() || error.code() == Code::ok) throw std::logic_error("refused without a sentence or a code");
    if (sentence != message_text(sentence)) throw std::logic_error("a sentence that is not safe to print: " + sentence);
    if (error.code() == Code::internal) throw std::logic_error("called a defect of the program: " + sentence);
    return false;
  }
}

}  // namespace skipstone::fuzz
