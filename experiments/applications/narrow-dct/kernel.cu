#include "../cuda.h"
#include "../tasks.h"
#include "task.h"

TASK_FUNCTIONS(dct_shared_task, dct_global_task)
