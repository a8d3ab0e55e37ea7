#include "../cuda.h"
#include "../tasks.h"
#include "task.h"

TASK_FUNCTIONS(multiply_task, multiply_tiled_task)
