/* A C program that is linked as pkg-config says. */
#include <skipstone/skipstone.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  skipstone_engine_params params;
  skipstone_engine* engine = NULL;
  skipstone_engine_params_init(&params, sizeof(params));
  params.model_path = "there-is-no-such-model.gguf";
  if (skipstone_engine_load(&params, &engine) != SKIPSTONE_NOT_FOUND || strlen(skipstone_last_error()) == 0) return 1;
  puts(skipstone_version());
  return 0;
}
