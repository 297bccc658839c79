// continue_conversations MODEL FOLDER COUNT TOKENS: for each FOLDER/N.case ("DRAFT TEMPERATURE TOKEN TOKEN ...") loads
// FOLDER/N.conversation, appends the tokens, generates TOKENS more, and prints them as a line.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "skipstone/skipstone.hpp"

namespace {

void run(const char* model, const std::string& folder, int count, std::uint32_t most) {
  auto engine_params = skipstone::engine_params();
  engine_params.model_path = model;
  const skipstone::Engine engine(engine_params);
  for (int i = 0; i < count; ++i) {
    const std::string name = folder + "/" + std::to_string(i);
    std::ifstream file(name + ".case");
    std::string draft;
    auto params = skipstone::session_params();
    file >> draft >> params.temperature;
    params.draft = draft.c_str();
    params.seed = 11;
    std::vector<skipstone_token> tokens;
    for (skipstone_token token; file >> token;) tokens.push_back(token);
    skipstone::Session session(engine, params);
    session.load(name + ".conversation");
    session.generate(tokens, most);
    for (const skipstone_token token : session.tokens()) std::printf("%d ", token);
    std::printf("\n");
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) return 2;
  try {
    run(arguments[1], arguments[2], std::atoi(arguments[3]), static_cast<std::uint32_t>(std::atoi(arguments[4])));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
