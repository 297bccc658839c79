// write_seeds FOLDER: the sound files of every reader, FOLDER/READER/N: what fuzzers start from.
#include <filesystem>
#include <string>

#include "base/log.h"
#include "fixtures/tiny_checkpoint.h"
#include "fuzz/readers.h"

int main(int count, char** arguments) {
  if (count != 2) return 2;
  skipstone::log::set_sink({});
  for (const skipstone::fuzz::Reader& reader : skipstone::fuzz::all_readers()) {
    const std::string folder = std::string(arguments[1]) + "/" + reader.name;
    std::filesystem::create_directories(folder);
    int number = 0;
    for (const std::string& seed : reader.seeds()) skipstone::fixtures::write_text(folder + "/" + std::to_string(number++), seed);
  }
  return 0;
}
