// Uses enough of the installed library that all of it has to link.
#include <cstdio>
#include <skipstone/skipstone.hpp>

int main() {
  for (const skipstone_drafter_info& info : skipstone::drafters()) std::puts(info.name);
  skipstone_engine_params params = skipstone::engine_params();
  params.model_path = "there-is-no-such-model.gguf";
  try {
    const skipstone::Engine engine(params);
    skipstone::Session session(engine);
    session.generate(engine.tokenize("x"), 1);
  } catch (const skipstone::error& error) {
    return error.status() == SKIPSTONE_NOT_FOUND ? 0 : 1;
  }
  return 1;
}
