// One engine, four threads, each with a session of its own. usage: four_threads MODEL.gguf TEXT
#include <cstdio>
#include <skipstone/skipstone.hpp>
#include <string>
#include <thread>
#include <vector>

int main(int count, char** arguments) {
  if (count != 3) return std::fprintf(stderr, "usage: four_threads MODEL.gguf TEXT\n"), 2;
  try {
    skipstone_engine_params params = skipstone::engine_params();
    params.model_path = arguments[1];
    const skipstone::Engine engine(params);
    std::vector<std::string> texts(4), errors(4);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      threads.emplace_back([&, i] {
        try {
          skipstone_session_params sampling = skipstone::session_params();
          sampling.temperature = 0.8f;
          sampling.seed = i;  // the text depends on the seed, not on what the other threads do
          sampling.draft = "suffix";
          skipstone::Session session(engine, sampling);
          session.generate(engine.tokenize(arguments[2]), 32, [&](const skipstone_chunk& chunk) {
            texts[i].append(chunk.text, chunk.bytes);
            return true;
          });
        } catch (const skipstone::error& error) {
          errors[i] = error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (!errors[i].empty()) return std::fprintf(stderr, "error: %s\n", errors[i].c_str()), 1;
      std::printf("seed %zu: %s\n", i, texts[i].c_str());
    }
  } catch (const skipstone::error& error) {
    return std::fprintf(stderr, "error: %s\n", error.what()), 1;
  }
}
