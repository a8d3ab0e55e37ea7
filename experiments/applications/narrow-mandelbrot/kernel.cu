#include "../cuda.h"
#include "../tasks.h"
#include "task.h"

TASK_FUNCTIONS(mandelbrot_task)
