/* The smallest program in C: continues a text. usage: smallest MODEL.gguf TEXT */
#include <skipstone/skipstone.h>
#include <stdio.h>
#include <string.h>

static int print_chunk(const skipstone_chunk* chunk, void* user_data) {
  (void)user_data;
  fwrite(chunk->text, 1, chunk->bytes, stdout);
  return fflush(stdout); /* not 0 where writing failed, which stops the generation */
}

static int failed(void) {
  fprintf(stderr, "error: %s\n", skipstone_last_error());
  return 1;
}

int main(int count, char** arguments) {
  skipstone_engine_params engine_params;
  skipstone_session_params session_params;
  skipstone_engine* engine = NULL;
  skipstone_session* session = NULL;
  skipstone_token* tokens = NULL;
  size_t token_count = 0;
  int result = 0;
  if (count != 3) return fprintf(stderr, "usage: smallest MODEL.gguf TEXT\n"), 2;

  skipstone_engine_params_init(&engine_params, sizeof(engine_params));
  engine_params.model_path = arguments[1];
  if (skipstone_engine_load(&engine_params, &engine) != SKIPSTONE_OK) return failed();

  skipstone_session_params_init(&session_params, sizeof(session_params));
  session_params.draft = "auto";
  if (skipstone_tokenize_polled(engine, arguments[2], strlen(arguments[2]), 1, 0, NULL, NULL, &tokens, &token_count) != SKIPSTONE_OK ||
      skipstone_session_create(engine, &session_params, &session) != SKIPSTONE_OK ||
      skipstone_session_generate(session, tokens, token_count, 64, print_chunk, NULL) != SKIPSTONE_OK) {
    result = failed();
  }
  if (result == 0) printf("\n");
  if (fflush(stdout) != 0 || ferror(stdout)) {
    fprintf(stderr, "error: the text could not be written\n");
    result = 1;
  }
  skipstone_tokens_free(tokens);
  skipstone_session_free(session);
  skipstone_engine_free(engine);
  return result;
}
